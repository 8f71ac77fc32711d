import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkConfiguration } from '../../src/supervision/topology/load.ts';
import { KNOWN_VENUES } from '../../src/venues/index.ts';
import { type Compose, dockerInstructions, root, textOf, yamlOf } from './files.ts';

const compose = yamlOf('docker-compose.yml') as Compose;
const services = Object.entries(compose.services);
/** Keys of the compose specification that are used here; another one is a misspelling until it is added. */
const SERVICE_KEYS = new Set(
  (
    'build image user command cpuset read_only tmpfs shm_size stop_signal stop_grace_period ulimits environment volumes ' +
    'secrets ports networks depends_on healthcheck restart security_opt cap_drop logging'
  ).split(' '),
);

describe('docker-compose.yml', () => {
  it('uses only keys that exist', () => {
    const known = ['name', 'x-hardened', 'services', 'networks', 'volumes', 'secrets'];
    expect(Object.keys(compose).filter((key) => !known.includes(key))).toEqual([]);
    for (const [name, service] of services) {
      const unknown = Object.keys(service).filter((key) => !SERVICE_KEYS.has(key));
      expect([name, unknown]).toEqual([name, []]);
    }
  });

  it('runs the program with Redis, Postgres, Prometheus and Grafana', () => {
    expect(Object.keys(compose.services)).toEqual(['tapeworks', 'redis', 'postgres', 'prometheus', 'grafana']);
  });

  it.each(services)('%s is hardened, healthy by a check, and has an image with a version', (_name, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.restart).toBe('unless-stopped');
    expect(service.healthcheck?.test[0]).toMatch(/^CMD(-SHELL)?$/);
    expect(service.image).toMatch(/:[^:]+$/);
    expect(service.image).not.toMatch(/:latest$/);
  });

  it('publishes ports on loopback only, and none of the servers that hold data', () => {
    const ports = services.flatMap(([, { ports: own = [] }]) => own);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const hosts = ports.map((port) => port.split(':')[1]);
    expect(new Set(hosts).size).toBe(hosts.length);
    for (const name of ['redis', 'postgres']) {
      expect(compose.services[name]!.ports).toBeUndefined();
      expect(compose.services[name]!.networks).toEqual(['inside']);
    }
    expect(compose.networks['inside']?.internal).toBe(true);
  });

  it('takes every secret from a file, declares each that is used, and makes each', () => {
    const used = new Set(services.flatMap(([, { secrets = [] }]) => secrets));
    expect([...used].sort()).toEqual(Object.keys(compose.secrets).sort());
    const script = textOf('docker/make-secrets.sh');
    for (const [name, { file }] of Object.entries(compose.secrets)) {
      expect(file).toBe(`./secrets/${name}`);
      expect(script).toMatch(new RegExp(`(secret ${name}|secrets/${name})\\b`));
    }
    for (const [name, { environment = {}, secrets = [] }] of services) {
      for (const [key, value] of Object.entries(environment)) {
        if (/PASSWORD|TOKEN|SECRET/.test(key)) expect([name, key, value.startsWith('/run/secrets/')]).toContain(true);
        expect(value).not.toMatch(/:\/\/[^/]*:[^/]*@/);
        const file = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1];
        if (file !== undefined) expect(secrets).toContain(file);
      }
    }
    expect(textOf('.gitignore').split('\n')).toContain('secrets');
    expect(textOf('.dockerignore').split('\n')).toContain('secrets');
  });

  it('mounts only files that exist and volumes that are declared', () => {
    const sources = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]!));
    for (const source of sources) {
      if (source.startsWith('./')) expect([source, existsSync(`${root}${source.slice(2)}`)]).toEqual([source, true]);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
  });

  it('gives the program four cores and waits for healthy servers', () => {
    expect(compose.services['tapeworks']).toMatchObject({
      cpuset: expect.stringContaining('0-3') as string,
      depends_on: { postgres: { condition: 'service_healthy' }, redis: { condition: 'service_healthy' } },
    });
  });

  it('keeps Redis durable: an append-only file, no eviction', () => {
    const conf = textOf('docker/redis.conf').split('\n');
    for (const line of ['appendonly yes', 'appendfsync everysec', 'maxmemory-policy noeviction', 'dir /data'])
      expect(conf).toContain(line);
    expect(compose.services['redis']!.volumes).toContain('redis-data:/data');
  });

  it("mounts a kernel.yaml that the program accepts, on the ports that are published, with the secrets' paths", () => {
    const files = new Map([
      ['kernel.yaml', Buffer.from(textOf('docker/kernel.yaml'))],
      ['topology.yaml', Buffer.from(textOf('config/topology.yaml'))],
    ]);
    const checked = checkConfiguration(files, { venues: KNOWN_VENUES }, (name) => name);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const { http, grpc, tls, auth, data } = checked.value.kernel;
    const { ports, secrets, volumes } = compose.services['tapeworks']!;
    expect(ports).toEqual([`127.0.0.1:${http.port}:${http.port}`, `127.0.0.1:${grpc.port}:${grpc.port}`]);
    for (const file of [tls?.certFile, tls?.keyFile, auth.tokenFile]) {
      expect(secrets).toContain(/^\/run\/secrets\/(\w+)$/.exec(file ?? '')?.[1]);
    }
    expect(http.allowedHosts).toContain('tapeworks');
    expect(volumes).toContain(`tapeworks-data:${data}`);
  });
});

describe('the Dockerfile', () => {
  const instructions = dockerInstructions();
  const final = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
  const of = (name: string) => final.filter(([key]) => key === name).map(([, rest]) => rest);

  it('has a build stage and a final one without build tools', () => {
    expect(instructions.filter(([name]) => name === 'FROM')).toHaveLength(2);
    expect(of('RUN').join()).not.toContain('npm');
    expect(instructions.some(([, rest]) => rest.includes('npm ci --omit=dev'))).toBe(true);
  });

  it('runs node itself as process 1, not as root, and ends by SIGTERM', () => {
    expect(JSON.parse(of('ENTRYPOINT')[0]!)).toEqual(['node', 'docker/start.mjs']);
    expect(JSON.parse(of('CMD')[0]!)).toEqual(['up']);
    expect(of('USER')).toEqual(['node']);
    expect(of('STOPSIGNAL')).toEqual(['SIGTERM']);
  });

  it('copies what exists, and is not kept from it by .dockerignore', () => {
    const ignored = textOf('.dockerignore').split('\n');
    const copied = instructions
      .filter(([name, rest]) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(([, rest]) => rest.split(/\s+/).slice(0, -1));
    for (const path of copied.filter((name) => name !== '.')) {
      expect([path, existsSync(`${root}${path}`), ignored.includes(path.split('/')[0]!)]).toEqual([path, true, false]);
    }
  });
});
