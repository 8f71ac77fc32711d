// Reflection shows what the server speaks as file descriptors. They are made by proto-loader, whose map fields do not
// follow the rule that protobuf's own compilers hold them to: the entry type of `map<...> statuses` is to be named
// `StatusesEntry`. Clients that check descriptors refuse the whole file otherwise, so they are put right here.
import {
  type AnyDefinition,
  loadSync,
  type MessageTypeDefinition,
  type PackageDefinition,
  type ProtobufTypeDefinition,
} from '@grpc/proto-loader';
import { protoPath as HEALTH_PROTO } from 'grpc-health-check';
import { invariant } from '../../protocols/errors/index.ts';

interface Field {
  readonly name: string;
  typeName?: string;
}

interface Message {
  name: string;
  readonly field?: readonly Field[];
  readonly nestedType?: readonly Message[];
  readonly options?: { readonly mapEntry?: boolean };
}

interface FileDescriptor {
  name: string;
  readonly package: string;
  readonly messageType?: readonly Message[];
}

const HEALTH_PACKAGE = 'grpc.health.v1';
/** The name under which every server shows it; the loader names files after their packages. */
const HEALTH_FILE = 'grpc/health/v1/health.proto';
const OPTIONS = { keepCase: true, longs: String };

/** The given protos and the health service's, as every client takes them. */
export function reflectedProtos(protos: PackageDefinition): PackageDefinition {
  const codec = loadSync('google/protobuf/descriptor.proto', OPTIONS)['google.protobuf.FileDescriptorProto'];
  invariant(codec !== undefined && isMessage(codec), 'proto-loader brings the descriptors of descriptors');
  const all = { ...protos, ...loadSync(HEALTH_PROTO, OPTIONS) };
  const reflected = Object.entries(all).map(([name, definition]) => {
    if (!isDescribed(definition)) return [name, definition];
    const fileDescriptorProtos = definition.fileDescriptorProtos.map((file) => putRight(codec, file));
    return [name, { ...definition, fileDescriptorProtos }];
  });
  return Object.fromEntries(reflected) as PackageDefinition;
}

/** Messages and enumerations carry the files that describe them; services do not. */
function isDescribed(definition: AnyDefinition): definition is Extract<AnyDefinition, ProtobufTypeDefinition> {
  return Array.isArray(definition['fileDescriptorProtos' as keyof AnyDefinition]);
}

function isMessage(definition: AnyDefinition): definition is MessageTypeDefinition<object, object> {
  return isDescribed(definition) && 'deserialize' in definition;
}

function putRight(codec: MessageTypeDefinition<object, object>, bytes: Buffer): Buffer {
  const file = codec.deserialize(bytes) as FileDescriptor;
  if (file.package === HEALTH_PACKAGE) file.name = HEALTH_FILE;
  for (const message of file.messageType ?? []) nameMapEntries(message, `.${file.package}`);
  return codec.serialize(file);
}

function nameMapEntries(message: Message, scope: string): void {
  const path = `${scope}.${message.name}`;
  for (const nested of message.nestedType ?? []) {
    const field = message.field?.find((one) => one.typeName === nested.name);
    if (nested.options?.mapEntry === true && field !== undefined) {
      nested.name = entryName(field.name);
      field.typeName = `${path}.${nested.name}`;
    } else nameMapEntries(nested, path);
  }
}

/** statuses -> StatusesEntry, by_venue -> ByVenueEntry */
function entryName(field: string): string {
  const words = field.split('_').map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Entry`;
}
