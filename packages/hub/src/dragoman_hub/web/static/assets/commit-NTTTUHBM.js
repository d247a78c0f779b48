import{a}from"./chunk-46RXEQOY.js";import"./chunk-W2EXJFD5.js";import"./chunk-XFTS2XHX.js";import"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";export{a as showCommit};
