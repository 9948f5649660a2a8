import axios from 'axios'

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const { data: posted } = await axios.post(`${url}/echo`, { a: 1 })
    const { data: body } = await axios.get(`${url}/redirect`)
    return Response.json({ posted, body })
  },
}
