import{a,b,c}from"./chunk-7BBKVKVX.js";import"./chunk-UG6LCKT7.js";export{c as colour,b as colouredLines,a as languageOf};
