import json
import subprocess
import unittest
from urllib.request import Request, urlopen

from messaging import Messaging, MessagingError

ANNA = "+447700900101"


class SendTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [
            "npx",
            "messaging-conversations",
            "sandbox",
            "--port",
            "0",
            "--json",
        ]
        cls.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True
        )
        cls.sandbox = json.loads(cls.process.stdout.readline())
        cls.agency = cls.sandbox["agencyId"]

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()

    def setUp(self):
        self.control("reset")
        self.client = Messaging(
            self.sandbox["baseUrl"], self.sandbox["apiKey"], first_wait=0.01
        )

    def control(self, path, body=None, method="POST"):
        headers = {"X-Sandbox-Token": self.sandbox["token"]}
        data = json.dumps(body or {}).encode() if method == "POST" else None
        with urlopen(
            Request(
                f"{self.sandbox['controlUrl']}/{path}",
                data,
                headers,
                method=method,
            )
        ) as response:
            return json.load(response)

    def anna(self, action, **body):
        return self.control(f"contacts/{ANNA}/{action}", body)

    def inbox(self):
        entries = self.control(f"contacts/{ANNA}/inbox", method="GET")
        return [entry["body"] for entry in entries if entry["kind"] == "text"]

    def held(self):
        return self.client.conversation(self.agency, ANNA)["conversation"][
            "queuedMessages"
        ]

    def send(self, body="See you at 14:00.", operation_id="visit-17"):
        return self.client.send(self.agency, ANNA, body, operation_id)

    def test_within_the_window_a_text_goes_out_once(self):
        self.anna("writes", text="Is the flat still free?")
        self.control(
            "faults/add",
            {"operation": "messages.send", "phase": "after", "effect": "reset"},
        )
        self.control(
            "faults/add",
            {
                "operation": "messages.send",
                "phase": "after",
                "effect": {"status": 500},
            },
        )
        self.assertFalse(self.send()["queued"])
        self.assertEqual(self.inbox(), ["See you at 14:00."])

    def test_a_declined_text_never_arrives(self):
        self.assertTrue(self.send()["queued"])
        self.anna("declines")
        self.assertEqual((self.held(), self.inbox()), ([], []))

    def test_no_answer_within_48_hours_and_one_in_words(self):
        self.send()
        self.control("clock/advance", {"hours": 49})
        self.assertEqual(self.held(), [])
        self.send("Another day?", "visit-18")
        self.anna("writes", text="Who is this?")
        self.assertEqual(self.inbox(), [])

    def test_an_accepted_text_arrives_and_an_unreachable_phone_shows(self):
        self.send()
        self.anna("accepts")
        self.assertEqual(self.inbox(), ["See you at 14:00."])
        self.anna("setReachable", on=False)
        self.send("Still there?", "visit-18")
        newest = self.client.conversation(self.agency, ANNA)["messagePage"][
            "messages"
        ][0]
        self.assertIn(newest["status"], ["failed", "undelivered"])

    def test_what_is_wrong_is_not_repeated(self):
        self.control(
            "faults/add",
            {
                "operation": "messages.send",
                "effect": {"status": 429, "retryAfter": 600},
            },
        )
        for status, outcome in ((429, "unknown"), (400, "not_sent")):
            with self.assertRaises(MessagingError) as caught:
                self.send(body="" if status == 400 else "Hello")
            self.assertEqual(
                (caught.exception.status, caught.exception.outcome),
                (status, outcome),
            )

    def test_an_error_in_other_words_than_the_services_may_have_gone_out(self):
        self.anna("writes", text="Hello?")
        shape = '{"_tag": "PartnerForbidden", "message": "no"}'
        for body in (
            "<h1>Forbidden</h1>",
            "",
            '"Forbidden"',
            "[]",
            "null",
            "1",
            '{"_tag": null}',
            '{"_tag": []}',
            shape,
        ):
            effect = {
                "kind": "html",
                "status": 401,
                "body": body,
                "contentType": "application/json",
            }
            self.control(
                "faults/add",
                {
                    "operation": "messages.send",
                    "phase": "after",
                    "effect": effect,
                },
            )
            with self.assertRaises(MessagingError) as caught:
                self.send()
            self.assertEqual(
                (caught.exception.status, caught.exception.outcome),
                (401, "unknown"),
            )
        self.assertEqual(self.inbox(), ["See you at 14:00."])

    def test_after_an_outage_the_outcome_is_unknown_and_a_repetition_is_safe(
        self,
    ):
        self.anna("writes", text="Hello?")
        fault = {
            "operation": "messages.send",
            "phase": "after",
            "effect": "truncated",
            "times": 4,
        }
        self.control("faults/add", fault)
        with self.assertRaises(MessagingError) as caught:
            self.send()
        self.assertEqual(caught.exception.outcome, "unknown")
        self.send()
        self.assertEqual(self.inbox(), ["See you at 14:00."])

    def tearDown(self):
        answer = self.control("check", method="GET")
        self.assertTrue(answer["ok"], answer["message"])


if __name__ == "__main__":
    unittest.main()
