// Reflection as its protocol says, in both of its versions: what is served, and the file of each symbol and name.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadProtos, type RunningGrpc, rawService, startGrpc } from '../../src/actors/publisher/grpc-server.ts';

const SERVICES = ['grpc.health.v1.Health', 'klines.Klines', 'orderbook.OrderbookAggregator'];
const FILES = ['grpc/health/v1/health.proto', 'klines.proto', 'orderbook.proto'];
const SETTINGS = {
  ...{ host: '127.0.0.1', port: 0, tls: null, tokenFile: null, defaultSymbol: null, maxSubscribers: 10 },
  ...{
    maxStreamsPerConnection: 10,
    maxSymbols: 10,
    maxRequestBytes: 65_536,
    keepaliveMs: 60_000,
    cutSlowAfterMs: 1_000,
  },
};
const PROTO_OPTIONS = { keepCase: true, longs: String, enums: String };

interface Answer {
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
  readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] };
  readonly error_response?: { readonly error_code: number };
}

interface FileDescriptor {
  readonly name: string;
  readonly package: string;
  readonly service?: readonly { readonly name: string }[];
  readonly messageType?: readonly {
    readonly name: string;
    readonly field?: readonly { readonly name: string; readonly typeName?: string }[];
    readonly nestedType?: readonly { readonly name: string; readonly options?: { readonly mapEntry?: boolean } }[];
  }[];
}

const folder = join(dirname(createRequire(import.meta.url).resolve('@grpc/reflection/package.json')), 'build/proto');
const codec = loadSync('google/protobuf/descriptor.proto', PROTO_OPTIONS)['google.protobuf.FileDescriptorProto'] as {
  deserialize(bytes: Buffer): object;
};

let grpc: RunningGrpc;

beforeAll(async () => {
  const protos = loadProtos(['orderbook.proto', 'klines.proto']);
  const served = SERVICES.filter((name) => name in protos).map((name) => ({
    ...{ name, definition: rawService(protos, name), implementation: {} },
  }));
  grpc = await startGrpc(SETTINGS, protos, served);
});
afterAll(() => grpc?.stop(100));

type Reflection = Client & {
  ServerReflectionInfo(): NodeJS.ReadWriteStream & { write(request: object): boolean; end(): void };
};
type Package = Record<'grpc', Record<'reflection', Record<string, { ServerReflection: ServiceClientConstructor }>>>;

/** One question on a stream of its own. */
async function ask(version: string, question: object): Promise<Answer> {
  const file = `grpc/reflection/${version}/reflection.proto`;
  const loaded = loadPackageDefinition(loadSync(file, { ...PROTO_OPTIONS, includeDirs: [folder] }));
  const { ServerReflection } = (loaded as unknown as Package).grpc.reflection[version]!;
  const client = new ServerReflection(`127.0.0.1:${grpc.port}`, credentials.createInsecure()) as unknown as Reflection;
  const call = client.ServerReflectionInfo();
  try {
    return await new Promise<Answer>((resolve, reject) => {
      call.on('data', (answer) => resolve(answer as unknown as Answer));
      call.on('error', reject);
      call.write(question);
    });
  } finally {
    call.end();
    client.close();
  }
}

async function fileOf(version: string, question: object): Promise<FileDescriptor> {
  const { file_descriptor_response: answer } = await ask(version, question);
  return codec.deserialize(answer!.file_descriptor_proto[0]!) as FileDescriptor;
}

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  it('lists all services, the health service among them', async () => {
    const { list_services_response: answer } = await ask(version, { list_services: '*' });
    expect(answer!.service.map(({ name }) => name).sort()).toEqual(SERVICES);
  });

  it.each(SERVICES.map((service, at) => [service, FILES[at]!] as const))(
    'gives the file of %s by its symbol, by a method of it, and by the name of the file',
    async (service, file) => {
      const bySymbol = await fileOf(version, { file_containing_symbol: service });
      expect(bySymbol.name).toBe(file);
      expect(bySymbol.service?.map(({ name }) => `${bySymbol.package}.${name}`)).toEqual([service]);
      const byName = await fileOf(version, { file_by_filename: file });
      expect(byName).toEqual(bySymbol);
    },
  );

  it('names the entries of maps as protobuf wants it, so that strict clients take the file', async () => {
    const { messageType: messages } = await fileOf(version, { file_by_filename: FILES[0]! });
    const list = messages!.find(({ name }) => name === 'HealthListResponse')!;
    expect(list.nestedType).toMatchObject([{ name: 'StatusesEntry', options: { mapEntry: true } }]);
    expect(list.field).toMatchObject([
      { name: 'statuses', typeName: '.grpc.health.v1.HealthListResponse.StatusesEntry' },
    ]);
  });

  it('says so when there is no such symbol or file', async () => {
    for (const question of [{ file_containing_symbol: 'no.such.Symbol' }, { file_by_filename: 'no-such.proto' }]) {
      expect((await ask(version, question)).error_response).toMatchObject({ error_code: 5 });
    }
  });
});
