/** Reads server-sent events of a runtime as a client does. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { eventsPath } from '@selvedge/protocol'

interface ReadEvent {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of any topic
  readonly data: any
}

export interface EventReader {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** The body, if it is no stream of events. */
  readonly text: () => string
  readonly events: readonly ReadEvent[]
  of(event: string): ReadEvent[]
  readonly isEnded: () => boolean
  pause(): void
  resume(): void
  close(): void
}

/** @param query of the URL, such as `topics=fixes` */
export function readEvents(
  url: string,
  token: string | undefined,
  query: string,
  { headers = {}, method = 'GET' }: { headers?: Record<string, string>; method?: string } = {},
): Promise<EventReader> {
  return new Promise((resolve, reject) => {
    const asked: ClientRequest = request(
      `${url}${eventsPath}?${query}`,
      { method, agent: false, headers: { ...(token && { Authorization: `Bearer ${token}` }), ...headers } },
      (response) => resolve(follow(asked, response)),
    )
    asked.on('error', reject)
    asked.end()
  })
}

function follow(asked: ClientRequest, response: IncomingMessage): EventReader {
  const events: ReadEvent[] = []
  let text = ''
  let rest = ''
  let isEnded = false
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(0, 100_000)
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => splitOnce(line)))
      if (fields.data !== undefined)
        events.push({
          ...(fields.id && { id: fields.id }),
          event: fields.event!,
          data: JSON.parse(fields.data),
        })
    }
  })
  response.on('close', () => {
    isEnded = true
  })
  response.on('error', () => undefined)
  return {
    status: response.statusCode!,
    headers: response.headers,
    text: () => text,
    events,
    of: (event) => events.filter((each) => each.event === event),
    isEnded: () => isEnded,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void asked.destroy(),
  }
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(': ')
  return [line.slice(0, at), line.slice(at + 2)]
}
