export { type NodeHttp, type NodeHttpOptions, nodeHttp } from "./http/node-exchange.ts";
