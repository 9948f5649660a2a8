/** Load from connections that stay open, in turns: two servers are measured within the same tenths of a second. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SteadyLoad {
  /** Sends requests for that time, each after the answer to the one before it. @returns answers, all of them with status 200 */
  run(seconds: number): Promise<number>
  close(): void
}

const lengthOfAnswer = /content-length: (\d+)/i

/** A chunked answer ends with an empty chunk. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return false
  const length = lengthOfAnswer.exec(text.slice(0, head))
  return length ? text.length >= head + 4 + Number(length[1]) : text.endsWith('0\r\n\r\n')
}

/** @param request all bytes of one request, which each connection sends again and again */
export async function startLoad(port: number, request: Buffer, connections: number): Promise<SteadyLoad> {
  let answers = 0
  let isOver = true
  let waiting = 0
  let failure: Error | undefined
  const sockets: Socket[] = []
  for (let count = 0; count < connections; count++) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!isWhole(text)) return
      if (!text.startsWith('HTTP/1.1 200') || text.includes('"error"')) failure ??= new Error(text)
      text = ''
      answers++
      if (isOver) waiting--
      else socket.write(request)
    })
    for (const event of ['error', 'close'] as const)
      socket.on(event, (cause) => {
        failure ??= cause instanceof Error ? cause : new Error('the server closed a connection')
        waiting = 0
      })
    sockets.push(socket)
  }
  return {
    async run(seconds) {
      const before = answers
      isOver = false
      waiting = sockets.length
      for (const each of sockets) each.write(request)
      await sleep(seconds * 1000)
      isOver = true
      while (waiting > 0) await sleep(1)
      if (failure) throw failure
      return answers - before
    },
    close() {
      for (const each of sockets) each.removeAllListeners().destroy()
    },
  }
}
