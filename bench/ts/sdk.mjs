// The programs in ../peers/typescript import the SDK through this file, because packages are looked up from here.
export * from "@agentclientprotocol/sdk";
