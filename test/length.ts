/** True in `npm run test:long`, which plays each campaign at length. `npm test` plays a short version of each. */
export const isLong = process.env.TEST_LONG === "1";
