/** Each state in a sentence for a person. */
export const words = {
	waiting: "Waits to be sent.",
	sending: "Is being sent; the answer is not known yet.",
	held: "Waits for the contact's consent.",
	sent: "Sent.",
	delivered: "Delivered.",
	read: "Read.",
	failed: "Sent, but it did not reach the phone.",
	dropped: "Not delivered: the contact declined or did not answer in time, or another text took its place.",
	replaced: "Not delivered: another text took its place while it waited for consent.",
	refused: "Not sent: it was refused.",
	expired: "Not sent: its time had passed.",
	cancelled: "Not sent: it was cancelled.",
	unclear: "It is not known whether it was sent. Look at the conversation before you send it again.",
} as const;

type Words = { [state in keyof typeof words]?: string };

/** The same when no consent template reached the phone. */
export const wordsIfUnasked: Words = {
	held: "The request for the contact's consent did not reach the phone.",
	dropped: "Not delivered: the request for the contact's consent did not reach the phone.",
};

/** The same behind an earlier text, or behind one in the queue that somebody else has sent. */
export const wordsIfBehind: Words = { waiting: "Waits for another text to the contact." };

/** The same after a read or a send that failed. */
export const wordsIfTried: Words = { waiting: "Waits to be tried again." };
