import http from 'node:http'
import https from 'node:https'

const read = (response) =>
  new Promise((resolve, reject) => {
    let text = ''
    response
      .setEncoding('utf8')
      .on('data', (chunk) => (text += chunk))
      .on('end', () => resolve(text))
      .on('error', reject)
  })
const ask = (module, url, options = {}, body) =>
  new Promise((resolve, reject) => {
    const request = module.request(url, options, async (response) => {
      try {
        resolve({ status: response.statusCode, text: await read(response), reused: request.reusedSocket })
      } catch (cause) {
        reject(cause)
      }
    })
    request.on('error', reject).end(body)
  })

export default {
  async fetch(_request, env) {
    const url = `http://${env.HOST}:${env.HTTP}`
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const first = await ask(http, `${url}/echo`, { method: 'POST', agent }, '{"a":1}')
    const second = await ask(http, `${url}/large`, { agent })
    const secure = await ask(
      https,
      `https://${env.HOST}:${env.HTTPS}/echo`,
      { method: 'POST', rejectUnauthorized: false },
      '"tls"',
    )
    const untrusted = await ask(https, `https://${env.HOST}:${env.HTTPS}/echo`).catch((cause) => cause.code)
    agent.destroy()
    return Response.json({ first, second: { ...second, text: second.text.length }, secure, untrusted })
  },
}
