import got from 'got'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const posted = await got.post(`${url}/echo`, { json: { a: 1 } }).json()
    const { body, redirectUrls } = await got(`${url}/redirect`)
    return Response.json({ posted, body, redirects: redirectUrls.length })
  },
}
