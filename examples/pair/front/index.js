// Calls the other service with a token of its own: asked for when it is needed, good for that one service, kept nowhere.
export default {
  async fetch(_request, env, ctx) {
    const { token } = await ctx.identityToken(env.BACK_ID)
    const answer = await fetch(ctx.info.apiRoot + env.BACK_PATH, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return Response.json({ status: answer.status, back: await answer.json() })
  },
}
