/** No answer came, and nothing can have happened: nothing was sent, or it was a question. */
export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
}

/** A request that moves money was sent and no answer of fx came back, so whether it was done is not known. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}
