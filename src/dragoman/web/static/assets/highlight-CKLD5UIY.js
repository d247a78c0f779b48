import{a,b,c}from"./chunk-Y3LFJUCL.js";import"./chunk-RLS24P6M.js";export{c as colour,b as colouredLines,a as languageOf};
