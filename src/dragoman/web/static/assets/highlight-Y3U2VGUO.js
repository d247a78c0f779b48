import{a,b,c}from"./chunk-BDCRWY3J.js";import"./chunk-UX2ZLYR6.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
