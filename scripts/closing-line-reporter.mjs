// Ends the run with one line that a person and a script can both read: `N passed, N failed`.
export default class ClosingLineReporter {
  onTestRunEnd(testModules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of testModules) {
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0) count.failed++;
      for (const test of module.children.allTests()) count[test.result().state]++;
    }
    const skipped = count.skipped + count.pending;
    setImmediate(() =>
      process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped ? `, ${skipped} skipped` : ''}\n`),
    );
  }
}
