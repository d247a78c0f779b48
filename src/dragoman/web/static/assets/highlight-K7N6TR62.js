import{a,b,c}from"./chunk-PUYAE64D.js";import"./chunk-MJWROE7D.js";import"./chunk-SQE76S5B.js";export{c as colour,b as colouredLines,a as languageOf};
