const { configureGlobal } = require("fast-check");

configureGlobal({ endOnFailure: true });

/** A reporter that says nothing and ends the run at the first failure, for a mutant has to be killed only once. */
module.exports = async function* firstFailure(events) {
  for await (const { type } of events) if (type === "test:fail") process.exit(1);
  yield "";
};
