import{a}from"./chunk-OBIKG2CT.js";import"./chunk-I6AYGTXU.js";import"./chunk-X3H2OXGB.js";import"./chunk-UX2ZLYR6.js";import"./chunk-SQE76S5B.js";export{a as showCommit};
