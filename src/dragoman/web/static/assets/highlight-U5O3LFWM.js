import{a,b,c}from"./chunk-E2OPYQBS.js";import"./chunk-JGM6JN5A.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
