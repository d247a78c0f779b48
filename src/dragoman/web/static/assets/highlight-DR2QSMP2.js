import{a,b,c}from"./chunk-6OW2MW2G.js";import"./chunk-4EMYDHTF.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
