package state

// Backend returns the -backend-config settings for `tofu init` and the state at key. They contain
// no secret; secrets are in Environment.
func (c S3) Backend(key string) map[string]string {
	return map[string]string{
		"bucket":         c.Bucket,
		"key":            key,
		"region":         c.Region,
		"use_lockfile":   "true",
		"use_path_style": "true",
		// Skips requests that only Amazon's own services answer.
		"skip_credentials_validation": "true",
		"skip_metadata_api_check":     "true",
		"skip_region_validation":      "true",
		"skip_requesting_account_id":  "true",
		"skip_s3_checksum":            "true",
	}
}

// Environment returns the environment variables that tofu needs to use the bucket.
func (c S3) Environment() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + c.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + c.SecretKey,
		"AWS_ENDPOINT_URL_S3=" + c.Endpoint,
		"AWS_REQUEST_CHECKSUM_CALCULATION=when_required",
		"AWS_RESPONSE_CHECKSUM_VALIDATION=when_required",
	}
}
