import { request, fetch as undiciFetch } from 'undici'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const answer = await request(`${url}/echo`, { method: 'POST', body: JSON.stringify({ a: 1 }) })
    const posted = await answer.body.json()
    const body = await (await undiciFetch(`${url}/redirect`)).text()
    return Response.json({ posted, body })
  },
}
