package clients

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestNamespaces(t *testing.T) {
	c := startOpen(t)
	_, err := c.Namespaces().Register(&api.Namespace{Name: "team", Description: "of a team", Meta: map[string]string{"owner": "me"}}, nil)
	must(t, err)
	namespace, _, err := c.Namespaces().Info("team", nil)
	must(t, err)
	want(t, "owner", namespace.Meta["owner"], "me")
	c.SetNamespace("team")
	run(t, c, "web", 1)
	list, _, err := c.Jobs().List(&api.QueryOptions{Namespace: "*"})
	must(t, err)
	want(t, "namespace of the job", list[0].Namespace, "team")
	_, err = c.Namespaces().Delete("team", nil)
	refused(t, err, `has non-terminal jobs`)
	_, _, err = c.Jobs().Deregister("web", true, nil)
	must(t, err)
	eventually(t, "namespace deleted", func() bool {
		_, err := c.Namespaces().Delete("team", nil)
		return err == nil
	})
	all, _, err := c.Namespaces().List(nil)
	must(t, err)
	want(t, "namespaces", len(all), 1)
}

func TestVariables(t *testing.T) {
	c := startOpen(t)
	v := c.Variables()
	made, _, err := v.Create(&api.Variable{Path: "app/db", Items: api.VariableItems{"user": "me"}}, nil)
	must(t, err)
	read, _, err := v.Read("app/db", nil)
	must(t, err)
	want(t, "item", read.Items["user"], "me")
	missing, _, err := v.Peek("app/none", nil)
	must(t, err)
	want(t, "no variable", missing == nil, true)
	_, _, err = v.Read("app/none", nil)
	refused(t, err, "variable not found")

	made.Items["user"] = "you"
	updated, _, err := v.CheckedUpdate(made, nil)
	must(t, err)
	_, _, err = v.CheckedUpdate(made, nil) // its index is old
	refused(t, err, "cas")
	if _, is := err.(api.ErrCASConflict); !is {
		t.Fatalf("no conflict of check-and-set: %T %v", err, err)
	}
	list, _, err := v.PrefixList("app/", nil)
	must(t, err)
	want(t, "variables", len(list), 1)

	lock := &api.Variable{Path: "locks/one", Lock: &api.VariableLock{TTL: "30s", LockDelay: "5s"}}
	locked, _, err := v.AcquireLock(lock, nil)
	must(t, err)
	if locked.Lock == nil || locked.Lock.ID == "" {
		t.Fatalf("no lock: %+v", locked)
	}
	_, _, err = v.AcquireLock(lock, nil)
	refused(t, err, "409")
	_, _, err = v.RenewLock(locked, nil)
	must(t, err)
	_, _, err = v.ReleaseLock(locked, nil)
	must(t, err)

	_, err = v.CheckedDelete("app/db", updated.ModifyIndex+7, nil)
	refused(t, err, "cas")
	_, err = v.CheckedDelete("app/db", updated.ModifyIndex, nil)
	must(t, err)
}

func TestVolumes(t *testing.T) {
	c := startOpen(t)
	volume := &api.HostVolume{Name: "data", PluginID: "mkdir", RequestedCapabilities: []*api.HostVolumeCapability{
		{AttachmentMode: api.HostVolumeAttachmentModeFilesystem, AccessMode: api.HostVolumeAccessModeSingleNodeWriter}}}
	created, _, err := c.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: volume}, nil)
	must(t, err)
	id := created.Volume.ID
	eventually(t, "volume ready", func() bool {
		volume, _, err := c.HostVolumes().Get(id, nil)
		must(t, err)
		return volume.State == api.HostVolumeStateReady
	})
	list, _, err := c.HostVolumes().List(&api.HostVolumeListRequest{}, nil)
	must(t, err)
	want(t, "volumes", len(list), 1)
	job := parse(t, c, `
job "stateful" {
  group "g" {
    volume "v" {
      type   = "host"
      source = "data"
    }
    task "t" {
      driver = "mock_driver"
      config { run_for = "24h" }
      volume_mount {
        volume      = "v"
        destination = "/data"
      }
    }
  }
}`)
	_, _, err = c.Jobs().Register(job, nil)
	must(t, err)
	eventually(t, "allocation on the volume's node", func() bool {
		allocs := running(t, c, "stateful")
		return len(allocs) == 1 && allocs[0].NodeID == created.Volume.NodeID
	})
	_, _, err = c.HostVolumes().Delete(&api.HostVolumeDeleteRequest{ID: id}, nil)
	refused(t, err, "in use")
	_, _, err = c.Jobs().Deregister("stateful", true, nil)
	must(t, err)
	eventually(t, "volume deleted", func() bool {
		_, _, err := c.HostVolumes().Delete(&api.HostVolumeDeleteRequest{ID: id}, nil)
		return err == nil
	})
	claims, _, err := c.TaskGroupHostVolumeClaims().List(nil, nil)
	must(t, err)
	want(t, "claims", len(claims), 0)

	csi, _, err := c.CSIVolumes().List(nil)
	must(t, err)
	want(t, "CSI volumes", len(csi), 0)
	_, _, err = c.CSIVolumes().Info("none", nil)
	refused(t, err, "404")
	plugins, _, err := c.CSIPlugins().List(nil)
	must(t, err)
	want(t, "plugins", len(plugins), 0)
}

func TestKeyring(t *testing.T) {
	c := startOpen(t)
	keys, _, err := c.Keyring().List(nil)
	must(t, err)
	want(t, "keys", len(keys), 1)
	rotated, _, err := c.Keyring().Rotate(&api.KeyringRotateOptions{}, nil)
	must(t, err)
	if rotated.KeyID == keys[0].KeyID {
		t.Fatal("the key is the old one")
	}
	_, err = c.Keyring().Delete(&api.KeyringDeleteOptions{KeyID: rotated.KeyID}, nil)
	refused(t, err, "active root key cannot be deleted")
	_, err = c.Keyring().Delete(&api.KeyringDeleteOptions{KeyID: keys[0].KeyID}, nil)
	must(t, err)
}

func TestAccess(t *testing.T) {
	c := startServer(t, "--nodes", "3", "--acl")
	_, _, err := c.Jobs().List(nil)
	refused(t, err, "Permission denied")
	boot, _, err := c.ACLTokens().Bootstrap(nil)
	must(t, err)
	_, _, err = c.ACLTokens().Bootstrap(nil)
	refused(t, err, "ACL bootstrap already done")
	c.SetSecretID(boot.SecretID)
	run(t, c, "web", 1)

	policy := &api.ACLPolicy{Name: "readers", Description: "may look", Rules: `namespace "default" { policy = "read" }`}
	_, err = c.ACLPolicies().Upsert(policy, nil)
	must(t, err)
	_, err = c.ACLPolicies().Upsert(&api.ACLPolicy{Name: "bad", Rules: `namespace "x" { policy = "all" }`}, nil)
	refused(t, err, "Invalid namespace policy")
	role, _, err := c.ACLRoles().Create(&api.ACLRole{Name: "reader", Policies: []*api.ACLRolePolicyLink{{Name: "readers"}}}, nil)
	must(t, err)
	byName, _, err := c.ACLRoles().GetByName("reader", nil)
	must(t, err)
	want(t, "role", byName.ID, role.ID)
	token, _, err := c.ACLTokens().Create(&api.ACLToken{Name: "t", Type: "client", Policies: []string{"readers"},
		ExpirationTTL: time.Hour}, nil)
	must(t, err)
	if token.ExpirationTime == nil {
		t.Fatal("the token does not expire")
	}
	byRole, _, err := c.ACLTokens().Create(&api.ACLToken{Type: "client", Roles: []*api.ACLTokenRoleLink{{Name: "reader"}}}, nil)
	must(t, err)

	management := boot.SecretID
	for _, secret := range []string{token.SecretID, byRole.SecretID} {
		c.SetSecretID(secret)
		list, _, err := c.Jobs().List(nil)
		must(t, err)
		want(t, "jobs", len(list), 1)
		_, _, err = c.Jobs().Deregister("web", false, nil)
		refused(t, err, "Permission denied")
		_, _, err = c.Nodes().List(nil)
		refused(t, err, "Permission denied")
	}
	self, _, err := c.ACLTokens().Self(nil)
	must(t, err)
	want(t, "self", self.AccessorID, byRole.AccessorID)
	c.SetSecretID("1f0e7a52-0000-4000-8000-000000000000")
	_, _, err = c.Jobs().List(nil)
	refused(t, err, "Permission denied")

	c.SetSecretID(management)
	once, _, err := c.ACLTokens().UpsertOneTimeToken(nil)
	must(t, err)
	exchanged, _, err := c.ACLTokens().ExchangeOneTimeToken(once.OneTimeSecretID, nil)
	must(t, err)
	want(t, "exchanged", exchanged.SecretID, management)
	_, err = c.ACLTokens().Delete(token.AccessorID, nil)
	must(t, err)
	_, _, err = c.ACLTokens().Info(token.AccessorID, nil)
	refused(t, err, "ACL token not found")
	tokens, _, err := c.ACLTokens().List(nil)
	must(t, err)
	want(t, "tokens", len(tokens), 2)
	policies, _, err := c.ACLPolicies().List(nil)
	must(t, err)
	want(t, "policies", len(policies), 1)
	read, _, err := c.ACLPolicies().Info("readers", nil)
	must(t, err)
	if !strings.Contains(read.Rules, "read") {
		t.Fatalf("rules %q", read.Rules)
	}
	_, err = c.ACLRoles().Delete(role.ID, nil)
	must(t, err)
	_, err = c.ACLPolicies().Delete("readers", nil)
	must(t, err)
}

// webToken signs claims as a provider of identities does (RFC 7515, RS256).
func webToken(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(text)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	must(t, err)
	return signed + "." + encode(signature)
}

func TestLogin(t *testing.T) {
	c := startServer(t, "--nodes", "3", "--acl")
	boot, _, err := c.ACLTokens().Bootstrap(nil)
	must(t, err)
	c.SetSecretID(boot.SecretID)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	_, _, err = c.ACLAuthMethods().Create(&api.ACLAuthMethod{Name: "ci", Type: "JWT", TokenLocality: "local",
		MaxTokenTTL: time.Hour, Config: &api.ACLAuthMethodConfig{JWTValidationPubKeys: []string{public},
			BoundIssuer: []string{"https://ci.test"}, ListClaimMappings: map[string]string{"groups": "groups"}}}, nil)
	must(t, err)
	_, err = c.ACLPolicies().Upsert(&api.ACLPolicy{Name: "readers", Rules: `namespace "default" { policy = "read" }`}, nil)
	must(t, err)
	_, _, err = c.ACLBindingRules().Create(&api.ACLBindingRule{AuthMethod: "ci", BindType: "policy", BindName: "readers",
		Selector: "eng in list.groups"}, nil)
	must(t, err)

	c.SetSecretID("")
	now := time.Now().Unix()
	claims := map[string]any{"iss": "https://ci.test", "iat": now, "exp": now + 3600, "groups": []string{"eng", "ops"}}
	token, _, err := c.ACLAuth().Login(&api.ACLLoginRequest{AuthMethodName: "ci", LoginToken: webToken(t, key, claims)}, nil)
	must(t, err)
	want(t, "name", token.Name, "JWT-ci")
	want(t, "policy", token.Policies[0], "readers")
	c.SetSecretID(token.SecretID)
	_, _, err = c.Jobs().List(nil)
	must(t, err)
	_, _, err = c.Nodes().List(nil)
	refused(t, err, "Permission denied")

	claims["groups"] = []string{"ops"}
	_, _, err = c.ACLAuth().Login(&api.ACLLoginRequest{AuthMethodName: "ci", LoginToken: webToken(t, key, claims)}, nil)
	refused(t, err, "no role or policy bindings matched")
	claims["iss"] = "https://other.test"
	_, _, err = c.ACLAuth().Login(&api.ACLLoginRequest{AuthMethodName: "ci", LoginToken: webToken(t, key, claims)}, nil)
	refused(t, err, "unable to validate provided token")
}
