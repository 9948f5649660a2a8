/** Kept-alive HTTP/1.1 connections, one request at a time on each: what thousands of devices send passes through a few dozen. */
import { connect, type Socket } from 'node:net'

interface Answer {
  readonly status: number
  readonly body: string
}

export interface Wire {
  send(head: string, body: string): Promise<Answer>
  close(): void
}

/** Requests that wait for a connection; beyond it the service is too slow for what is asked of it. */
const maxWaiting = 20_000
/** Characters of an answer, its head included. */
const maxAnswer = 1024 * 1024

interface Job {
  readonly text: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (cause: Error) => void
}

/** @param url of the service, without a path; @param connections how many are kept open */
export function createWire(url: string, connections: number): Wire {
  const { hostname, port, host } = new URL(url)
  const idle: Line[] = []
  const waiting: Job[] = []
  let open = 0
  let isClosed = false

  class Line {
    readonly #socket: Socket
    #job: Job | undefined
    #text = ''
    constructor() {
      open++
      this.#socket = connect(Number(port), hostname).setNoDelay(true)
      this.#socket.setEncoding('latin1')
      this.#socket.on('data', (chunk: string) => this.#take(chunk))
      this.#socket.on('error', (cause) => this.#fail(cause))
      this.#socket.on('close', () => this.#fail(new Error('the connection was closed')))
    }
    run(job: Job): void {
      this.#job = job
      this.#socket.write(job.text)
    }
    end(): void {
      this.#socket.destroy()
    }
    #take(chunk: string): void {
      this.#text += chunk
      if (this.#text.length > maxAnswer) {
        this.#fail(new Error(`the service sent an answer of more than ${maxAnswer} characters`))
        return
      }
      const head = this.#text.indexOf('\r\n\r\n')
      if (head === -1) return
      const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(this.#text) ?? []
      if (this.#text.length < head + 4 + Number(length)) return
      const job = this.#job
      const answer = { status: Number(this.#text.slice(9, 12)), body: this.#text.slice(head + 4) }
      this.#job = undefined
      this.#text = ''
      const next = waiting.shift()
      if (next) this.run(next)
      else idle.push(this)
      job?.resolve(answer)
    }
    #fail(cause: Error): void {
      const at = idle.indexOf(this)
      if (at !== -1) idle.splice(at, 1)
      const job = this.#job
      this.#job = undefined
      if (!this.#socket.destroyed) this.#socket.destroy()
      if (this.#isCounted) open--
      this.#isCounted = false
      job?.reject(cause)
      const next = isClosed ? undefined : waiting.shift()
      if (next) new Line().run(next)
    }
    #isCounted = true
  }

  return {
    send: (head, body) =>
      new Promise((resolve, reject) => {
        const length = Buffer.byteLength(body)
        const text = `${head}Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`
        const job = { text, resolve, reject }
        const line = idle.pop()
        if (line) line.run(job)
        else if (open < connections) new Line().run(job)
        else if (waiting.length < maxWaiting) waiting.push(job)
        else reject(new Error('the service is too slow for this rate'))
      }),
    close() {
      isClosed = true
      for (const line of idle.splice(0)) line.end()
    },
  }
}
