import{a}from"./chunk-WOE5J3Y3.js";import"./chunk-W2EXJFD5.js";import"./chunk-Z4F2CRH5.js";import"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";export{a as showCommit};
