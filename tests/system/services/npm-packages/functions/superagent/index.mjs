import superagent from 'superagent'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const { body: posted } = await superagent.post(`${url}/echo`).send({ a: 1 })
    const { text: body } = await superagent.get(`${url}/redirect`).buffer(true)
    return Response.json({ posted, body })
  },
}
