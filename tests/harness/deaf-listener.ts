/** A listener that does not answer packets, as on a bad network, until it is woken. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface DeafListener {
  readonly port: number
  /** Accepts connections from now on. */
  wake(): void
  close(): void
}

/**
 * Its program is stopped and its queue is full: the system drops each packet that begins a connection, and the sender repeats it.
 *
 * @param host an address of the loopback
 * @param own port; 0: any
 */
export async function listenDeaf(host: string, own = 0): Promise<DeafListener> {
  const program = `
    const server = require('node:http').createServer((_, response) => response.end('hello'))
    server.listen({ host: '${host}', port: ${own}, backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port))
      process.kill(process.pid, 'SIGSTOP')
    })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = await once(child.stdout, 'data')
  const port = Number(text)
  const fillers: Socket[] = []
  for (let isFull = false; !isFull; ) {
    const socket = connect(port, host).on('error', () => undefined)
    fillers.push(socket)
    // A connection on the loopback is open at once, unless its packet was dropped.
    isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(resolve, 300, true)),
    ])
  }
  return {
    port,
    wake: () => void child.kill('SIGCONT'),
    close() {
      child.kill('SIGKILL')
      for (const each of fillers) each.destroy()
    },
  }
}
