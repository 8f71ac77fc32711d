import type { ErrorEntry } from './index.ts';

export const CONFIG_ERRORS = {
  TW_CONFIG_FILE: {
    means: 'A configuration file cannot be read as text: missing, too large, empty, or not UTF-8.',
    remedy: 'Check the path and its permissions; a file is at most 256 KiB of UTF-8 without a byte order mark.',
  },
  TW_CONFIG_SYNTAX: {
    means: 'A configuration file is not one well-formed YAML document.',
    remedy: 'Mend the file at the line and column given; an editor with YAML support shows the same spot.',
  },
  TW_CONFIG_FORBIDDEN: {
    means: 'A file uses a part of YAML that is refused here: aliases, tags, directives, merge or prototype keys.',
    remedy: 'Write the value out where it is used, as plain mappings, lists and scalars.',
  },
  TW_CONFIG_UNKNOWN_KEY: {
    means: 'A key is not one that this part of the configuration knows.',
    remedy: 'Correct its spelling or remove it; docs/configuration.md lists every key.',
  },
  TW_CONFIG_MISSING: {
    means: 'A key that has no default is not there.',
    remedy: 'Add it; docs/configuration.md shows what it takes.',
  },
  TW_CONFIG_VALUE: {
    means: 'A value has the wrong type, form or size.',
    remedy: 'Give a value of the form that the message expects.',
  },
  TW_CONFIG_CONFLICT: {
    means: 'Two parts of the configuration do not fit together.',
    remedy: 'Change one of the two; the message names both.',
  },
  TW_CONFIG_UNSAFE: {
    means: 'The configuration would expose the system or a secret.',
    remedy: 'Bind to 127.0.0.1, or give tls and auth.tokenFile; keep secrets in the environment or in secret files.',
  },
  TW_CONFIG_INVALID: {
    means: 'The configuration has errors, which are listed; nothing was changed.',
    remedy: 'Mend the places listed and check again with `tapeworks validate`.',
  },
  TW_TOPOLOGY_BUSY: {
    means: 'Another topology is being applied at this moment.',
    remedy: 'Wait until it is done, then plan again: the running topology may have changed.',
  },
  TW_TOPOLOGY_CHANGED: {
    means: 'The running topology is no longer the one that the plan was made for.',
    remedy: 'Plan again and look at the new plan before applying it.',
  },
  TW_TOPOLOGY_NEEDS_RESTART: {
    means: 'The change touches settings that only a new process can take, such as the data folder or the servers.',
    remedy: 'Stop tapeworks and start it again with the new configuration.',
  },
  TW_TOPOLOGY_ROLLED_BACK: {
    means: 'The new topology failed to start or was not healthy in time; the previous one runs again.',
    remedy: 'Look at the failed step or the unhealthy actors listed, mend the cause, and apply again.',
  },
  TW_TOPOLOGY_ROLLBACK_FAILED: {
    means: 'The new topology failed, and going back to the previous one failed too; the tree is in between.',
    remedy: 'Look at the paths listed, then restart tapeworks: it starts from the configuration on disk.',
  },
  TW_CONTROL_UNREACHABLE: {
    means: 'The control API of the running system did not answer.',
    remedy: 'Check that tapeworks is up and that --url is its HTTP address.',
  },
  TW_CONTROL_REFUSED: {
    means: 'The control API refused the request.',
    remedy: 'Enable control in config/kernel.yaml and pass its token in TAPEWORKS_TOKEN.',
  },
  TW_CONTROL_PROTOCOL: {
    means: 'The control API answered with something that is not of its contract.',
    remedy: 'Check that --url leads to tapeworks itself, and that both sides are of the same version.',
  },
} as const satisfies Record<string, ErrorEntry>;
