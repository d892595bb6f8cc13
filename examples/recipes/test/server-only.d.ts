/** Next.js brings this package, and refuses to build a page for browsers that imports it. */
declare module "server-only";
