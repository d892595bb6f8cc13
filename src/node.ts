/**
 * A faster transport for Node.js.
 *
 * @module messaging-conversations/node
 */

export { type NodeHttp, type NodeHttpOptions, nodeHttp } from "./client/node-transport.ts";
