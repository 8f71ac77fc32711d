// Ends the run with one line that a person and a script can both read: `N passed, N failed`.
export default class ClosingLineReporter {
  onTestRunEnd(testModules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of testModules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      for (const state of states) count[state]++;
      // A file whose set-up failed, or that did not even load, is a failure although none of its tests is.
      if (module.state() === 'failed' && !states.includes('failed')) count.failed++;
    }
    const skipped = count.skipped + count.pending;
    setImmediate(() =>
      process.stdout.write(`${skipped ? `${skipped} skipped\n` : ''}${count.passed} passed, ${count.failed} failed\n`),
    );
  }
}
