module.exports = { testEnvironment: "node", testMatch: ["**/*.test.cjs", "**/*.test.mjs"] };
