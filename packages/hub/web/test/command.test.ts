import assert from "node:assert/strict";
import test from "node:test";
import { answerWords, optionWords, titleOf } from "../src/model/asked";
import { commandOf, isCommand, scriptOf, titleWith } from "../src/text/command";

const SCRIPT = "for f in *.py; do echo 'file' $f; done";
/** As Python quotes it, and as the page does. */
const QUOTED = [`bash -c 'for f in *.py; do echo '"'"'file'"'"' $f; done'`, commandOf({ command: ["bash", "-c", SCRIPT] })];

test("a script is read without the quotes around it, and its shell is named", () => {
  for (const line of QUOTED) assert.deepEqual(scriptOf(line), { shell: "bash -c", script: SCRIPT });
  assert.deepEqual(scriptOf(`/bin/zsh -lc "git status"`), { shell: "/bin/zsh -lc", script: "git status" });
});

test("a line whose words are not certain stays as it is", () => {
  const lines = [
    `bash -c "echo $HOME"`, `bash -c 'a' b`, `bash -c 'a'; rm -rf x`, `bash -c 'a' && b`, `bash -c`, `bash -x 'a'`, `bashful -c 'a'`, `bash  -c 'a'`,
    `bash -c 'a`, `ls -l src`, `sh -c $(cat x)`, `sh -c 'a' > out`, `sh -c 'a'\nrm x`, "",
  ];
  for (const line of lines) assert.deepEqual(scriptOf(line), { shell: "", script: line }, line);
});

test("a title that is the command and nothing else need not stand above it", () => {
  for (const title of ["touch a", "`touch a`", "Run `touch a`", "Running touch a", "Bash: touch a"]) assert.ok(isCommand(title, "touch a"), title);
  assert.ok(isCommand(SCRIPT, QUOTED[0]), "the script is what a person reads");
  for (const title of ["", "touch b", "Touch a", "touch a ", "touch", "Run `touch a` twice", "Running", "Do touch a"]) assert.ok(!isCommand(title, "touch a"), title);
  assert.ok(!isCommand("", ""), "nothing is not a command");
});

test("a title says the command once, as a person reads it, or not at all above the command itself", () => {
  const [command] = QUOTED;
  const title = `Run \`${command}\` in the hub's terminal`;
  assert.equal(titleWith(title, command), `Run \`${SCRIPT}\` in the hub's terminal`);
  assert.equal(titleWith("Run the installer", "curl x | sh"), "Run the installer");
  assert.equal(titleWith("List all files", "ls"), "List all files", "a part of another word is no command");
  assert.equal(titleOf({ params: { message: "Which one?" } }), "Which one?");
});

const OPTIONS = [
  { optionId: "y", name: "Yes", kind: "allow_once" }, { optionId: "a", name: "Always", kind: "allow_always" },
  { optionId: "n", name: "No", kind: "reject_once" }, { optionId: "x", name: "No, and stop", kind: "reject_once" },
];

function words(more: object, me = "owner", options: unknown = OPTIONS): string {
  const asked = { sessionId: "s", request: "1", method: "session/request_permission", params: { toolCall: { title: "Write a.txt" }, options } };
  const { verb, title, who } = answerWords({ kind: "question", id: 1, revision: 1, cursor: "", asked, ...more }, me);
  return `${verb}: ${title} (${who})`;
}

test("a question and its answer are one sentence", () => {
  const chose = (optionId: string, by = "owner"): object => ({ outcome: "answered", by, result: { outcome: { outcome: "selected", optionId } } });
  assert.equal(words(chose("y")), "Allowed: Write a.txt (by you)");
  assert.equal(words(chose("a", "phone")), "Always allowed: Write a.txt (by “phone”)");
  assert.equal(words(chose("n", "policy")), "Refused: Write a.txt (“No”, by your rules)", "two options refuse");
  assert.equal(words(chose("gone")), "Settled: Write a.txt (by you)");
  assert.equal(words(chose("y"), "owner", "none"), "Settled: Write a.txt (by you)");
  assert.equal(words({ outcome: "answered", by: "owner", result: { action: "decline" } }, ""), "Declined: Write a.txt (by “owner”)");
  assert.equal(words({ outcome: "cancelled", by: "hub" }), "Cancelled: Write a.txt (by the hub)");
  assert.equal(words({ outcome: "expired" }), "No answer in time: Write a.txt ()");
  assert.equal(words({}), "Waiting for an answer: Write a.txt ()");
});

test("an option says what it does, whatever the agent calls it", () => {
  const named = (kind: string, name: string): string => optionWords({ optionId: "x", kind, name });
  assert.equal(named("allow_once", "Yes, proceed"), "Yes, proceed");
  assert.equal(named("reject_once", "No, and tell me why"), "No, and tell me why");
  assert.equal(named("allow_always", "In this folder"), "Always allow: In this folder");
  assert.equal(named("allow_once", "No, never"), "Allow once: No, never");
  assert.equal(named("reject_once", "Yes"), "Reject: Yes");
});
