/** `node:http` that writes one text to all open responses when it gets a POST: the least that an event can cost. */
import type { ServerResponse } from 'node:http'
import { listen } from './listen.ts'

const streams = new Set<ServerResponse>()

listen((request, response) => {
  if (request.method === 'GET') {
    streams.add(response.writeHead(200, { 'Content-Type': 'text/event-stream' }))
    response.on('close', () => streams.delete(response))
    response.write(': welcome\n\n')
    return
  }
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    const event = Buffer.from(`event: fixes\ndata: ${JSON.stringify(JSON.parse(body))}\n\n`)
    for (const stream of streams) stream.write(event)
    response.end('{}')
  })
})
