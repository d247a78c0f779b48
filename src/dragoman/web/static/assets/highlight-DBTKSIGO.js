import{a,b,c}from"./chunk-CXCFTZUA.js";import"./chunk-YVOSO3A2.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
