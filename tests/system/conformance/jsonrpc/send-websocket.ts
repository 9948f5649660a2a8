import { frame, handshakeLines, opcodes, openRaw } from '../../../harness/raw-websocket.ts'
import { bodyOf, type Vector } from './send.ts'

export interface SocketVector extends Pick<Vector, 'name' | 'repeat' | 'departure'> {
  /** In place of `/jsonrpc/v1`. */
  readonly path?: string
  /** Names of header lines that the handshake leaves out. */
  readonly without?: readonly string[]
  /** Header lines that the handshake has beside the usual ones. */
  readonly headers?: readonly string[]
  /** Text messages, sent at once. */
  readonly messages?: readonly string[]
  /** Bytes of a text message, in base64. */
  readonly text?: string
  /** Bytes of a binary message, in base64. */
  readonly binary?: string
  /** What the answers must hold, in any order. */
  readonly answers?: readonly unknown[]
  /** Code with which the server closes the connection. */
  readonly close?: number
  /** Status of a handshake that is refused. */
  readonly status?: number
}

export interface SocketOutcome {
  readonly status: number
  readonly answers: readonly unknown[]
  /** 0: the connection stayed open. */
  readonly close: number
}

function framesOf({ messages, text, binary, repeat }: SocketVector): Buffer[] {
  if (messages) return messages.map((each) => frame(each))
  if (text !== undefined) return [frame(Buffer.from(text, 'base64'))]
  if (binary !== undefined) return [frame(Buffer.from(binary, 'base64'), { opcode: opcodes.binary })]
  return repeat ? [frame(bodyOf({ repeat }))] : []
}

/** Opens the WebSocket of a vector, sends its messages, and reads as many answers as there should be, or the close frame. */
export async function sendSocketVector(url: string, vector: SocketVector): Promise<SocketOutcome> {
  const { hostname, port } = new URL(url)
  const { path = '/jsonrpc/v1', without = [], headers = [], answers: expected = [] } = vector
  const lines = (host: string) => [
    ...handshakeLines(host).filter((line) => !without.includes(line.split(':')[0]!)),
    ...headers.map((line) => line.replace('{host}', host)),
  ]
  const { socket, status, send, next } = await openRaw(
    { host: hostname, port: Number(port) },
    { path, lines },
  )
  try {
    const answers: unknown[] = []
    if (status !== 101) return { status, answers, close: 0 }
    send(...framesOf(vector))
    while (vector.close !== undefined || answers.length < expected.length) {
      const received = await next()
      if (received?.opcode !== opcodes.text)
        return { status, answers, close: received?.content.readUInt16BE(0) ?? 1006 }
      answers.push(JSON.parse(received.content.toString()))
    }
    return { status, answers, close: 0 }
  } finally {
    socket.destroy()
  }
}
