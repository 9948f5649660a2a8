/** Refusals as a client of gRPC reads them: https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
import type { IncomingMessage } from 'node:http'

/** Status of gRPC by status of HTTP; for others it is UNKNOWN. */
const statuses: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
  507: 8,
}
const unknown = 2

/** Whether a request is a call of gRPC: its answer is read as one. */
export const isGrpc = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['content-type']?.startsWith('application/grpc') ?? false

/** Characters of a message. */
const maxMessage = 1000

/** The headers of a refusal without a body; the message is UTF-8, percent-encoded. */
export const grpcFields = (status: number, message: string): Readonly<Record<string, string>> => ({
  'Content-Type': 'application/grpc',
  'Grpc-Status': String(statuses[status] ?? unknown),
  'Grpc-Message': encode(message.slice(0, maxMessage)),
})

function encode(message: string): string {
  let encoded = ''
  for (const byte of Buffer.from(message)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}
