import{a,b,c}from"./chunk-S74R3GGJ.js";import"./chunk-GWAYYPT7.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
