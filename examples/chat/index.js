// A room: what one says over its WebSocket, all hear. GET /events streams the same as server-sent events.
const sockets = new Set()
const streams = new Set()

function tell(text) {
  for (const socket of sockets) socket.send(text)
  for (const stream of streams) stream.enqueue(new TextEncoder().encode(`data: ${text}\n\n`))
}

export default {
  async fetch(request) {
    if (request.headers.get('upgrade') === 'websocket') {
      const { socket, response } = Deno.upgradeWebSocket(request)
      socket.onopen = () => sockets.add(socket)
      socket.onclose = () => sockets.delete(socket)
      socket.onmessage = ({ data }) => tell(data)
      return response
    }
    if (new URL(request.url).pathname === '/events') {
      let mine
      const body = new ReadableStream({
        start(controller) {
          mine = controller
          streams.add(controller)
        },
        cancel: () => streams.delete(mine),
      })
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
    }
    return new Response(`${sockets.size} in the room\n`)
  },
}
