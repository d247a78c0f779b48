import{a,b,c}from"./chunk-U7HF73TQ.js";import"./chunk-NPEVRTDH.js";export{c as colour,b as colouredLines,a as languageOf};
