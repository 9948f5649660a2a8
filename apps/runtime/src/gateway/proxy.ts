/** Forwards requests to instances as streams, without buffering or caching. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RpcError } from '@selvedge/protocol'
import { allowLargeBody } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import { type Connection, createConnections } from './connections.ts'
import { createEventEnd } from './event-end.ts'
import { linesOf, responseHeaders } from './headers.ts'
import { refusalOf, sendRefusal } from './refusal.ts'
import { createResponseReader, type ResponseHead } from './response-reader.ts'

export interface Passage {
  readonly running: Running
  /** Path and query for the service. */
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly sandboxed: boolean
  /** Milliseconds in which the answer must begin. */
  readonly limitMs: number
  readonly onOverrun: () => void
  /** Calls `end` when the caller may not have the answer any more. @returns what to call when it ended by itself */
  readonly endWithCaller: (end: (cause: RpcError) => void) => () => void
}

export interface Proxy {
  pass(request: IncomingMessage, response: ServerResponse, passage: Passage): void
  close(): void
}

/** Bytes up to which a part of a body is put together with what goes before it. */
const small = 8192

/** Milliseconds for the last event of a stream to leave: its reader may not read. */
const lastEventMs = 2000

/** Requests that may be asked once more where nothing was answered (RFC 9110 § 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface Count {
  /** Its answer has begun. */
  answered(): void
  end(): void
}

/** Counts a request on its instance, so that it is not paused or ended under it. */
export function countRequest(running: Running, now: () => number): Count {
  running.requests++
  running.unanswered++
  const begunAt = now()
  let isAnswered = false
  let isOver = false
  const answered = () => {
    if (isAnswered) return
    isAnswered = true
    running.unanswered--
    running.limit.ended(now() - begunAt)
  }
  return {
    answered,
    end() {
      if (isOver) return
      isOver = true
      answered()
      running.requests--
      running.lastUsed = now()
    },
  }
}

export function createProxy(now: () => number): Proxy {
  const connections = createConnections()

  function pass(request: IncomingMessage, response: ServerResponse, passage: Passage, attempt = 1): void {
    const { running, path, sandboxed, limitMs, onOverrun } = passage
    const { method = 'GET' } = request
    const length = request.headers['content-length']
    const encoding = request.headers['transfer-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
      const message = 'send the body with the Transfer-Encoding "chunked" alone'
      sendRefusal(response, { status: 501, reason: 'unsupported_transfer_encoding', message })
      return
    }
    const hasBody = length !== undefined || encoding !== undefined
    if (hasBody) allowLargeBody(request)
    const count = countRequest(running, now)
    const connection = connections.take(running)
    const { socket } = connection
    let isSent = !hasBody
    let head: ResponseHead | undefined
    let isAnswered = false
    let isOver = false
    let isPaused = false
    const events = createEventEnd()
    let unwatch: () => void = () => undefined

    const onLate = () => {
      const message = `the service did not begin its answer within ${limitMs / 1000} s (MCM.MAX_EXECUTION_TIME_SEC)`
      give(504, 'timeout', message)
      onOverrun()
    }
    const resume = () => {
      if (!isPaused) return
      isPaused = false
      response.off('drain', resume)
      socket.resume()
    }
    const limit = setTimeout(safely('gateway.limit', onLate), limitMs)
    unwatch = passage.endWithCaller(onNotAllowed)

    /** Everything about this request is over; the connection goes on, or not. */
    function end(isReusable: boolean): void {
      if (isOver) return
      isOver = true
      clearTimeout(limit)
      unwatch()
      count.end()
      response.off('close', onClientGone)
      // A connection that is still paused would never read the answer to its next request.
      resume()
      if (isReusable && isSent) connections.keep(running, connection)
      else {
        connection.onGone = undefined
        connection.onFailure = undefined
        connection.reader = undefined
        socket.destroy()
      }
    }

    function give(status: number, reason: string, message: string): void {
      if (isOver) return
      end(false)
      if (isAnswered || response.headersSent) {
        response.destroy()
        return
      }
      // What is left of the request's body has nowhere to go.
      response.setHeader('Connection', 'close')
      sendRefusal(response, { status, reason, message })
    }

    /** Its caller may not go on. An answer that has begun is cut off, so that it does not look whole. */
    function onNotAllowed(cause: RpcError): void {
      if (isOver) return
      end(false)
      if (!isAnswered && !response.headersSent) {
        response.setHeader('Connection', 'close')
        sendRefusal(response, refusalOf(cause))
        return
      }
      const last = events.lastEvent(cause)
      const cut = () => void response.destroy()
      if (last === undefined) {
        response.destroy()
        return
      }
      response.write(last, cut)
      setTimeout(cut, lastEventMs).unref()
    }

    function onBroken(why: string): void {
      running.plan.log('runtime', `no answer for ${method} ${path.split('?', 1)[0]}: ${why}`)
      give(
        502,
        'bad_gateway',
        'the service broke the connection, or answered with something that is not HTTP',
      )
    }

    function onGone(cause?: Error): void {
      if (isOver) return
      // A kept connection may have ended on the other side just now: what was not begun is asked once more.
      if (connection.used && !isAnswered && !hasBody && repeatable.has(method) && attempt === 1) {
        end(false)
        pass(request, response, passage, 2)
      } else onBroken(cause?.message ?? 'it ended the connection')
    }

    function onClientGone(): void {
      if (!response.writableFinished) end(false)
    }

    connection.onGone = onGone
    connection.onFailure = (cause) => onBroken(cause.message)
    connection.reader = createResponseReader(method === 'HEAD', {
      onHead(received) {
        clearTimeout(limit)
        count.answered()
        head = received
        events.begin(received.headers)
      },
      onBody(part, isLast) {
        // Not before: an answer whose framing breaks at once is still refused with a specific status.
        if (head && !isAnswered) {
          response.writeHead(head.status, head.message, responseHeaders(head.headers, sandboxed))
          isAnswered = true
        }
        events.follow(part)
        // As text of one byte a character, since Node sends that together with the headers.
        if (isLast) response.end(part.length <= small ? part.toString('latin1') : part, 'latin1')
        else if (!response.write(part) && !isPaused) {
          isPaused = true
          socket.pause()
          response.once('drain', resume)
        }
      },
      onEnd: end,
      onUnanswered: onGone,
      onBroken,
    })
    response.on('close', safely('gateway.client-gone', onClientGone))
    const framing = !hasBody
      ? ''
      : length !== undefined
        ? `Content-Length: ${length}\r\n`
        : 'Transfer-Encoding: chunked\r\n'
    const start = `${method} ${path} HTTP/1.1\r\n${linesOf(passage.headers)}${framing}\r\n`
    if (!hasBody) socket.write(start, 'latin1')
    else {
      sendBody(request, connection, start, length === undefined, () => {
        isSent = true
      })
    }
  }

  return { pass, close: connections.close }
}

/**
 * The head, and the body as it comes, no faster than the service takes it; in chunks where its length is not known. A small
 * beginning of the body travels with the head: one system call less.
 */
function sendBody(
  request: IncomingMessage,
  { socket }: Connection,
  head: string,
  isChunked: boolean,
  onSent: () => void,
): void {
  let waiting = head
  const flush = () => {
    if (waiting !== '' && !socket.destroyed) socket.write(waiting, 'latin1')
    waiting = ''
  }
  setImmediate(safely('gateway.send-head', flush, () => socket.destroy()))
  const send = (chunk: Buffer) => {
    if (socket.destroyed) return
    let isTaken: boolean
    if (chunk.length <= small) {
      const text = chunk.toString('latin1')
      const framed = isChunked ? `${chunk.length.toString(16)}\r\n${text}\r\n` : text
      isTaken = socket.write(waiting + framed, 'latin1')
      waiting = ''
    } else {
      flush()
      if (isChunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
      isTaken = socket.write(chunk)
      if (isChunked) socket.write('\r\n', 'latin1')
    }
    if (isTaken) return
    request.pause()
    const resume = () => {
      socket.off('drain', resume)
      socket.off('close', resume)
      request.resume()
    }
    socket.on('drain', resume)
    socket.on('close', resume)
  }
  const finish = () => {
    flush()
    if (isChunked && !socket.destroyed) socket.write('0\r\n\r\n', 'latin1')
    onSent()
  }
  request.on(
    'data',
    safely('gateway.request-data', send, () => socket.destroy()),
  )
  request.on(
    'end',
    safely('gateway.request-end', finish, () => socket.destroy()),
  )
}
