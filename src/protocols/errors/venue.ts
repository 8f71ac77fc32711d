import type { ErrorEntry } from './index.ts';

export const VENUE_ERRORS = {
  TW_FRAME_JSON: {
    means:
      'A frame is not JSON, or was cut off. Books that it may have been of, and that no number proves, are out until they are whole again.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_SHAPE: {
    means: 'A frame lacks a field that the venue always sends, or has one of another kind.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_DECIMAL: {
    means: 'A price, amount or id in a frame is not a plain unsigned decimal.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_OVERFLOW: {
    means: "A number in a frame needs more than 64 bits at the instrument's scale.",
    remedy: 'Give the instrument a smaller scale in config/topology.yaml.',
  },
  TW_FRAME_PRECISION: {
    means: "A number in a frame has digits beyond the instrument's scale.",
    remedy: 'Give the instrument a larger scale in config/topology.yaml.',
  },
  TW_FRAME_ORDER: {
    means: 'The levels of a snapshot are not strictly best first.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_ROUTE: {
    means: 'A frame is of a stream that nobody subscribed to.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_ESCAPE: {
    means: 'A key or value that is read is spelled with an escape.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_NESTING: {
    means: 'A frame is nested deeper than any honest one.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_FIELDS: {
    means: 'An object in a frame has more keys than any honest one.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_FRAME_CAPACITY: {
    means: 'A frame has more levels or trades than there is room for.',
    remedy: 'Raise feeds.VENUE.maxFrame if the venue really sends frames of this size.',
  },
  TW_FRAME_SIZE: {
    means: 'A frame is longer than the configured limit.',
    remedy: 'Raise feeds.VENUE.maxFrame if the venue really sends frames of this length.',
  },
  TW_FRAME_UNKNOWN: {
    means: "A frame is neither data nor anything that the venue's protocol says.",
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_VENUE_COMPLAINT: {
    means: 'The venue refused something that nobody asked for.',
    remedy: 'Look at the sample in the status of the exchange; the connection goes on without the frame.',
  },
  TW_VENUE_UNKNOWN: {
    means: 'A venue is named that the program does not know.',
    remedy: 'Use one of the venues that `tapeworks help sim` lists, or add its folder below src/venues.',
  },
  TW_VENUE_NO_SUCH_STREAM: {
    means: 'The venue has no stream of the kind that is asked for.',
    remedy: 'Choose another kind of stream for this venue, or another venue for this kind.',
  },
  TW_VENUE_REFUSED: {
    means: 'The venue refused a subscription.',
    remedy: 'Check the symbol under the name that the venue uses; the reason is in the message.',
  },
  TW_VENUE_NO_ACK: {
    means: 'The venue did not answer a subscription, not even when asked again.',
    remedy: 'Check the symbol and the WebSocket URL; the other streams of the connection go on.',
  },
  TW_VENUE_SNAPSHOT: {
    means: 'The snapshot that an incremental book begins from could not be fetched; it is tried again.',
    remedy: 'Check feeds.VENUE.restUrl and the limits of the venue; the book is left out until then.',
  },
  TW_VENUE_TOO_MANY_STREAMS: {
    means: 'More streams are wanted than the venue allows on one connection.',
    remedy: 'Spread the symbols over more exchange actors in the topology.',
  },
  TW_VENUE_FRAME_TOO_LONG: {
    means: 'A subscribe frame for one stream would be longer than the venue accepts.',
    remedy: 'Check the symbol: no real one is that long.',
  },
  TW_SIM_BAD_FAULT: {
    means: 'A fault that was asked of the simulated venues does not exist or does not fit the venue.',
    remedy: 'See `tapeworks help sim` for the kinds of faults and their fields.',
  },
  TW_SIM_BAD_OPTION: {
    means: 'An option of the simulated venues is out of range, or names a file that cannot be used.',
    remedy: 'See `tapeworks help sim` for the options and their ranges.',
  },
  TW_SIM_CANNOT_LISTEN: {
    means: 'The simulated venues cannot listen on their port.',
    remedy: 'Stop what uses the port, or choose another with --port (0 takes a free one).',
  },
  TW_SIM_BAD_RECORDING: {
    means: 'A line of a recording is not a recorded frame.',
    remedy: 'Each line must be one JSON object with t_us, venue, stream and frame; the message names the line.',
  },
} as const satisfies Record<string, ErrorEntry>;
