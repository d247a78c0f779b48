import{a,b,c}from"./chunk-5LKKYV6C.js";import"./chunk-UZUK7LS5.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
