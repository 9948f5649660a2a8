import ky from 'ky'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const posted = await ky.post(`${url}/echo`, { json: { a: 1 } }).json()
    const body = await ky(`${url}/redirect`).text()
    return Response.json({ posted, body })
  },
}
