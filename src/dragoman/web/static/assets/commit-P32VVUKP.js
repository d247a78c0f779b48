import{a}from"./chunk-XRXZIXZC.js";import"./chunk-P23RSZCL.js";import"./chunk-TVECH4WM.js";import"./chunk-4EMYDHTF.js";import"./chunk-SQE76S5B.js";export{a as showCommit};
