import fetch from 'node-fetch'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const posted = await (
      await fetch(`${url}/echo`, { method: 'POST', body: JSON.stringify({ a: 1 }) })
    ).json()
    return Response.json({ posted, body: await (await fetch(`${url}/redirect`)).text() })
  },
}
