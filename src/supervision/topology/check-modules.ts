import type { Checker, LocatedConfiguration } from './checker.ts';

const SECRET_NAME = /(?:^|_)(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE)(?:_|$)/i;

export function checkModules(check: Checker, { kernel, topology, modules }: LocatedConfiguration): void {
  const owners = new Map<string, string>();
  for (const { document, value } of modules) {
    const owner = owners.get(value.name);
    check.expect(owner === undefined, document, ['name'], `a name that ${owner} does not have`, value.name);
    owners.set(value.name, owner ?? document.file);
    check.expectDistinct(document, ['streams'], value.streams);
    for (const variable of Object.keys(value.env)) {
      check.expect(!SECRET_NAME.test(variable), document, ['env', variable], 'secrets under credentials', variable, {
        code: 'TW_CONFIG_UNSAFE',
      });
    }
    for (const [variable, source] of Object.entries(value.credentials)) {
      const path = ['credentials', variable];
      const given = [source.fromEnv, source.fromFile].filter((from) => from !== undefined).length;
      const text = given === 0 ? 'neither' : 'both';
      check.expect(given === 1, document, path, 'one of fromEnv and fromFile', { text });
      check.expect(!Object.hasOwn(value.env, variable), document, path, 'a variable that env does not set', variable);
    }
  }
  const { republish } = kernel.value.ingest;
  const read = [
    ...Object.keys(topology.value.ingest.streams),
    ...modules.filter((module) => module.value.enabled).flatMap((module) => module.value.streams),
  ];
  const loops = republish.enabled && read.includes(republish.stream);
  const expected = 'a stream that is not read again';
  check.expect(!loops, kernel.document, ['ingest', 'republish', 'stream'], expected, republish.stream);
}
