import{a,b,c}from"./chunk-RCTC55TM.js";import"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
