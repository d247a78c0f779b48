import{a}from"./chunk-Y3M2GQ4P.js";import"./chunk-W2EXJFD5.js";import"./chunk-MGGEZUAT.js";import"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";export{a as showCommit};
