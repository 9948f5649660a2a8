import { WebSocket } from 'ws'

export default {
  async fetch(_request, env) {
    const socket = new WebSocket(`ws://${env.HOST}:${env.HTTP}/`)
    const text = await new Promise((resolve, reject) => {
      socket
        .on('open', () => socket.send('hello'))
        .on('message', (data) => resolve(String(data)))
        .on('error', reject)
    })
    socket.close()
    return Response.json(text)
  },
}
